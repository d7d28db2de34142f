#pragma once

#include "whilst/basics/teams.hpp"
