#pragma once

#include "whilst/linear/distributed/parts_by_metis.hpp"
