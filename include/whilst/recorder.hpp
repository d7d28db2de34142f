#pragma once

#include "whilst/engine/recorder.hpp"
