// What PDF documents say: poppler with GLib.
#pragma once
#include <poppler.h>
