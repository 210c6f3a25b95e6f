#include "plugin/live/http/page.h"

#include <cstddef>

// MEGASCOPE_PAGE_FILE: path of the built page, in quotes.
__asm__(
    ".pushsection .rodata\n"
    ".hidden megascope_live_page_begin\n"
    ".hidden megascope_live_page_end\n"
    ".globl megascope_live_page_begin\n"
    ".globl megascope_live_page_end\n"
    "megascope_live_page_begin:\n"
    ".incbin \"" MEGASCOPE_PAGE_FILE
    "\"\n"
    "megascope_live_page_end:\n"
    ".popsection\n");

extern "C" {
__attribute__((visibility("hidden"))) extern const char megascope_live_page_begin[];
__attribute__((visibility("hidden"))) extern const char megascope_live_page_end[];
}

namespace megascope::live {

std::string_view page() noexcept {
  return {megascope_live_page_begin,
          static_cast<std::size_t>(megascope_live_page_end - megascope_live_page_begin)};
}

}  // namespace megascope::live
