#pragma once

#include "whilst/basics/views.hpp"
