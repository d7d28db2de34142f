#pragma once

#include "whilst/least_squares/least_squares.hpp"
