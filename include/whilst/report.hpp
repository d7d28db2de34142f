#pragma once

#include "whilst/host/report.hpp"
