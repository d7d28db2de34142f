#pragma once

#include "whilst/linear/csr_matrix.hpp"
