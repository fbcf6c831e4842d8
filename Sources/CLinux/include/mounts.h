// Mounts by what they are: whoever may rename a folder on a mount point's path can have the path lead to anybody's at any moment.
#pragma once
#include <stdint.h>

// Opens a folder (O_PATH) by its canonical path. -ELOOP if there is a symbolic link on it by now.
int cl_open_canonical(const char *path);
// By which number the kernel lists the connection of a descriptor of /dev/fuse: the minor number of the device that is its
// mount's st_dev. 0 if it does not say (before Linux 6.16).
uint32_t cl_fuse_connection(int device);
// The same of the file system that an open file is in; 0 if that has a device of its own, or cannot be asked. Waits for no server.
uint32_t cl_unnamed_device(int file);
// umount2(2) of the mount with that number. -ESTALE if another one is there, or none.
int cl_unmount(const char *path, uint32_t unnamed_device, int flags);
