// GMime, which parses mail.
#pragma once
#include <gmime/gmime.h>
