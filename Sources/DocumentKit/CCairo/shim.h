// Drawing, to pictures and to PDF.
#pragma once
#include <cairo.h>
#include <cairo-pdf.h>
