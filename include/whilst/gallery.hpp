#pragma once

#include "whilst/problems/gallery.hpp"
