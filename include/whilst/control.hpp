#pragma once

#include "whilst/engine/control/control.hpp"
