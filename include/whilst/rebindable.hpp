#pragma once

#include "whilst/engine/rebindable.hpp"
