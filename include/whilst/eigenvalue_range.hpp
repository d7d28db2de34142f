#pragma once

#include "whilst/linear/eigenvalue_range.hpp"
