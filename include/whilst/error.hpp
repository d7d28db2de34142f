#pragma once

#include "whilst/basics/error.hpp"
