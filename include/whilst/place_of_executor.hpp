#pragma once

#include "whilst/host/place_of_executor.hpp"
