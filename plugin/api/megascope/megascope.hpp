/** \file
 * The hook API for C++11 and later: classes over megascope.h, whose regions and steps end with
 * their scope. The rules of megascope.h on threads, phases and errors hold. Nothing throws.
 */
#ifndef MEGASCOPE_MEGASCOPE_HPP
#define MEGASCOPE_MEGASCOPE_HPP

#include <cstddef>
#include <cstdint>
#include <megascope/megascope.h>

namespace megascope {

/** Name of a region or mark. Construction takes a lock, so construct each name once:
 * `static const megascope::Name kForward("forward");`. Copies are equal. */
class Name {
 public:
  explicit Name(const char* name) noexcept : region_(megascope_region_define(name)) {}
  /** Its identifier; MEGASCOPE_NONE if the name was refused. */
  megascope_region region() const noexcept { return region_; }

 private:
  megascope_region region_;
};

/** Position of a region; members that are not set do not apply. Range: megascope_where. */
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

/** Enters a region in the constructor and leaves it in the destructor. Construct and destroy it on
 * the same thread, in nested scopes. */
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

/** Begins a step in the constructor and ends it in the destructor, on one thread. */
class Step {
 public:
  explicit Step(std::int64_t step) noexcept { megascope_step_begin(step); }
  ~Step() { megascope_step_end(); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
};

/** A counter. Construction takes a lock, so construct each counter once. unit: may be null. */
class Counter {
 public:
  explicit Counter(const char* name, const char* unit = nullptr) noexcept
      : counter_(megascope_counter_define(name, unit)) {}
  /** Records a new value, with the time and the calling thread. */
  void set(double value) const noexcept { megascope_counter_set(counter_, value); }

 private:
  megascope_counter counter_;
};

/** Records an instant on the calling thread. */
inline void mark(const Name& name) noexcept { megascope_mark(name.region()); }

/** Returns a view of a contiguous row-major tensor on the host, with layer and micro_batch
 * MEGASCOPE_NOWHERE. shape: [dimensions] extents in elements; those after MEGASCOPE_MAX_DIMENSIONS
 * are ignored, and megascope_tensor() refuses such a view. The caller may set further members. */
inline megascope_tensor_view tensor(const char* name, megascope_tensor_kind kind,
                                    megascope_dtype dtype, const void* data,
                                    const std::int64_t* shape, int dimensions) noexcept {
  megascope_tensor_view view = MEGASCOPE_TENSOR_INIT;
  view.name = name;
  view.kind = kind;
  view.dtype = dtype;
  view.data = data;
  view.dimensions = dimensions;
  for (int i = 0; i < dimensions && i < MEGASCOPE_MAX_DIMENSIONS; ++i) view.shape[i] = shape[i];
  return view;
}

}  // namespace megascope

#endif
