#pragma once

#include "whilst/host/watch.hpp"
