// Preloaded after the library: directories below "network-scratch" are of a network file system. So
// the job of a node sees what a file server exports, where the server itself sees a local disk.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/vfs.h>

enum { kNfs = 0x6969 };

__attribute__((visibility("default"))) int statfs(const char* path, struct statfs* info) {
  const int rc = ((int (*)(const char*, struct statfs*))dlsym(RTLD_NEXT, "statfs"))(path, info);
  if (rc == 0 && strstr(path, "network-scratch") != NULL) info->f_type = kNfs;
  return rc;
}
