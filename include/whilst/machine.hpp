#pragma once

#include "whilst/host/machine.hpp"
