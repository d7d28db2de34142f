#pragma once

#include <string_view>

namespace whilst {

/// The ways to run a loop. host, stream and graph run a recorded program; resident and batch put the loop into one
/// kernel: one problem in one block, or many problems at once.
enum class executor { automatic, host, stream, graph, resident, batch };

/// "auto", "host", "stream", "graph", "resident", "batch".
std::string_view name(executor which);

/// The executor of that name; throws whilst::error that lists the names.
executor executor_from_name(std::string_view text);

}  // namespace whilst
