// GIO, for the desktop's types and its key files.
#pragma once
#include <gio/gio.h>
