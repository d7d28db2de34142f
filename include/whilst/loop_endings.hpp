#pragma once

#include "whilst/engine/loop_endings.hpp"
