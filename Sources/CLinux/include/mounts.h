// Mounts by what they are: whoever may rename a folder on a mount point's path can have the path lead to anybody's at any moment.
#pragma once
#include <stddef.h>
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
// Asks the server of the mount at a path for the device of its root, or for an attribute of that if one is named. Returns 0, or the length of
// the attribute's value, or -errno: -ETIMEDOUT if there was no answer in time. By a process of its own: a thread whose request the server has
// read and does not answer keeps its process from ending, even when that is killed.
int cl_ask_mount(const char *path, const char *attribute, int milliseconds, uint64_t *device, void *value, size_t capacity);
