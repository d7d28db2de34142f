#pragma once

#include "whilst/group/thread_group.hpp"
