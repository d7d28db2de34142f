#pragma once

#include "whilst/exchange/transports.hpp"
#include "whilst/group/group.hpp"
#include "whilst/group/thread_group.hpp"
#include "whilst/linear/distributed/distributed_csr_matrix.hpp"
#include "whilst/linear/distributed/distributed_linear_solver.hpp"
#include "whilst/linear/distributed/row_parts.hpp"
#include "whilst/nonlinear/minimize/distributed_minimizer.hpp"
