#pragma once

#include "whilst/derivatives/derivative_check.hpp"
