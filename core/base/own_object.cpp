#include "core/base/own_object.h"

#include <dlfcn.h>

namespace megascope {
namespace {

constexpr char kInHere = 0;

const void* base_of(const void* address) noexcept {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

// RTLD_DEFAULT in a library that dlopen loaded would search that library too.
void* found_by_program(const char* symbol) noexcept {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  return program != nullptr ? dlsym(program, symbol) : nullptr;
}

bool is_of_this_library(const void* address) noexcept {
  return address != nullptr && base_of(address) == base_of(&kInHere);
}

bool is_loaded_with_program() noexcept {
  return is_of_this_library(found_by_program("megascope_version"));
}

}  // namespace megascope
