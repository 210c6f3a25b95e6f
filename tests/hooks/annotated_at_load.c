/* A library that tells something before the program begins, and before libmegascope.so's own
 * initialisation: preloaded behind it. */
#include <megascope/megascope.h>

__attribute__((constructor)) static void annotate(void) {
  const megascope_region region = megascope_region_define("at load");
  megascope_region_enter(region);
  megascope_region_leave(region);
}
