#pragma once

#include <CLI/App.hpp>
#include <string>

namespace whilst::command {

/// What a linear_solver takes as a preconditioner: some may have settings after their names.
CLI::Validator preconditioner_of_matrix();
/// A kind of ranks, as ranks_from takes it.
CLI::Validator ranks_of_group();
/// How ranks share the rows.
CLI::Validator partition_of_ranks();
/// What ranks exchange by.
CLI::Validator transport_of_ranks();
/// One or several numbers of ranks, as numbers_of_ranks_from takes them.
CLI::Validator numbers_of_ranks();
/// A finite number that is not negative.
CLI::Validator tolerance_as(const char* example);

}  // namespace whilst::command
