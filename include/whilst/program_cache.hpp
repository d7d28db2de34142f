#pragma once

#include "whilst/linear/program_cache.hpp"
