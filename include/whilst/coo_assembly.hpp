#pragma once

#include "whilst/linear/coo_assembly.hpp"
