#pragma once

#include "whilst/files/options_text.hpp"
