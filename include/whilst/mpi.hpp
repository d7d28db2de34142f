#pragma once

#include "whilst/group/mpi_group.hpp"
