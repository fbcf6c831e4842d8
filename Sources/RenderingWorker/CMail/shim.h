// What mail says: GMime.
#pragma once
#include <gmime/gmime.h>
