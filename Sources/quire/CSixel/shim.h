// Pictures for terminals that know DEC's sixels.
#pragma once
#include <sixel.h>
