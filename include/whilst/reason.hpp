#pragma once

#include "whilst/engine/control/reason.hpp"
