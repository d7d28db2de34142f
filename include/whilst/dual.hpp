#pragma once

#include "whilst/derivatives/dual.hpp"
