#pragma once

#include "whilst/files/matrix_market.hpp"
