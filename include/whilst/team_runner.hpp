#pragma once

#include "whilst/engine/steps/team_runner.hpp"
