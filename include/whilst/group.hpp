#pragma once

#include "whilst/group/group.hpp"
