#pragma once

#include "whilst/linear/distributed/distributed_csr_matrix.hpp"
