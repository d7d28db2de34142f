#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "solvers/files/written_file.hpp"

namespace whilst::command {

/// A file that is written whole or not at all: the text goes to a neighbour, which then takes the file's name and,
/// where it replaces one, its mode. Errors name the option and the path as they were given.
///
/// Whether that will work is found out when the object is made, long before there is anything to write. Standard output
/// (-), devices and pipes (/dev/null, /dev/stdout) are written directly; a symbolic link keeps pointing where it did.
class output_file {
 public:
  /// No file is wanted: every call does nothing.
  output_file() = default;
  /// option: what to call this file in errors, as "--json". Throws whilst::error if path cannot be written.
  output_file(std::string option, const std::string& path);

  bool wanted() const { return target_.has_value(); }
  bool is_standard_output() const { return path_ == "-"; }
  const std::string& option() const { return option_; }
  const std::string& path() const { return path_; }
  /// The path with links resolved, to compare with others; empty for a stream.
  std::string target() const { return replaces() ? target_->path().string() : ""; }
  /// False for a device or pipe, which many may write to.
  bool replaces() const { return wanted() && !target_->is_stream(); }

  void write(std::string_view text) const;
  /// For writers that write the file at a path that they are given whole or not at all, too: calls `writer` with it.
  void write_with(const std::function<void(const std::string& path)>& writer) const;

 private:
  std::string doing() const;

  std::string option_, path_;
  std::optional<detail::write_target> target_;
};

/// A file that is read: what to call it in errors, as "--rhs" or "the matrix", and its path, empty where there is none.
struct input_file {
  std::string name, path;
};

/// Throws whilst::error where a file to write is one to read, or one of those to write before it, and where two are
/// standard output.
void require_different_files(const std::vector<input_file>& inputs, const std::vector<const output_file*>& outputs);

}  // namespace whilst::command
