#pragma once

#include "whilst/basics/host_device.hpp"
