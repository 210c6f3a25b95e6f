/** \file
 * The hook API for C++11 and later: names made once, regions that end with their scope. What it
 * says of safety in megascope.h holds here; nothing is thrown.
 */
#ifndef MEGASCOPE_MEGASCOPE_HPP
#define MEGASCOPE_MEGASCOPE_HPP

#include <cstddef>
#include <cstdint>
#include <megascope/megascope.h>

namespace megascope {

/** A region's or mark's name. Make it once: `static const megascope::Name kForward("forward");`. */
class Name {
 public:
  explicit Name(const char* name) noexcept : region_(megascope_region_define(name)) {}
  megascope_region region() const noexcept { return region_; }

 private:
  megascope_region region_;
};

/** What a region is about; members that are not set do not apply. */
struct Where : megascope_where {
  Where() noexcept : megascope_where{MEGASCOPE_NOWHERE, MEGASCOPE_NOWHERE, MEGASCOPE_NOWHERE} {}
  Where& of_micro_batch(std::int64_t index) noexcept {
    micro_batch = index;
    return *this;
  }
  Where& of_chunk(std::int64_t index) noexcept {
    chunk = index;
    return *this;
  }
  Where& of_layer(std::int64_t index) noexcept {
    layer = index;
    return *this;
  }
};

/** The thread is in a region until the end of the object's scope. Not to be handed to another
 * thread. */
class Region {
 public:
  explicit Region(const Name& name) noexcept : region_(name.region()) {
    megascope_region_enter(region_);
  }
  Region(const Name& name, const megascope_where& where) noexcept : region_(name.region()) {
    megascope_region_enter_at(region_, &where);
  }
  ~Region() { megascope_region_leave(region_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  megascope_region region_;
};

/** A step of the program, until the end of the object's scope. */
class Step {
 public:
  explicit Step(std::int64_t step) noexcept { megascope_step_begin(step); }
  ~Step() { megascope_step_end(); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
};

/** Something that has a value. Make it once. */
class Counter {
 public:
  explicit Counter(const char* name, const char* unit = nullptr) noexcept
      : counter_(megascope_counter_define(name, unit)) {}
  void set(double value) const noexcept { megascope_counter_set(counter_, value); }

 private:
  megascope_counter counter_;
};

inline void mark(const Name& name) noexcept { megascope_mark(name.region()); }

/** A tensor whose rows lie one behind the other. shape: `dimensions` extents. The rest may be set
 * in what it returns. */
inline megascope_tensor_view tensor(const char* name, megascope_tensor_kind kind,
                                    megascope_dtype dtype, const void* data,
                                    const std::int64_t* shape, int dimensions) noexcept {
  megascope_tensor_view view = megascope_tensor_view();
  view.size_bytes = sizeof view;
  view.name = name;
  view.kind = kind;
  view.dtype = dtype;
  view.layer = MEGASCOPE_NOWHERE;
  view.micro_batch = MEGASCOPE_NOWHERE;
  view.data = data;
  view.dimensions = dimensions;
  for (int i = 0; i < dimensions && i < MEGASCOPE_MAX_DIMENSIONS; ++i) view.shape[i] = shape[i];
  return view;
}

}  // namespace megascope

#endif
