#pragma once

#include "whilst/linear/eigen.hpp"
