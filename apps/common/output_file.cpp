#include "apps/common/output_file.hpp"

#include <cstdio>
#include <utility>

#include "solvers/files/text_file.hpp"
#include "whilst/error.hpp"

namespace whilst::command {
namespace {

/// The path that stands for what "-" means.
std::string named(const std::string& path) { return path == "-" ? "/dev/stdout" : path; }

}  // namespace

output_file::output_file(std::string option, const std::string& path) : option_(std::move(option)), path_(path) {
  if (path.empty()) return;
  target_.emplace(named(path), doing());
  if (!target_->is_stream()) target_->require_folder();
}

std::string output_file::doing() const { return option_ + " " + detail::printable(path_); }

void output_file::write(std::string_view text) const {
  if (!wanted()) return;
  std::fflush(stdout);  // earlier output must come first
  detail::written_file file(*target_);
  file.write(text);
  file.finish();
}

void output_file::write_with(const std::function<void(const std::string& path)>& writer) const {
  if (!wanted()) return;
  std::fflush(stdout);
  try {
    writer(target_->is_stream() ? named(path_) : target_->path().string());
  } catch (const error& problem) {
    throw error(doing() + ": " + problem.what());
  }
}

void require_different_files(const std::vector<input_file>& inputs, const std::vector<const output_file*>& outputs) {
  std::vector<std::pair<std::string, std::string>> taken;
  for (const auto& [name, path] : inputs) {
    if (!path.empty() && path != "-") taken.emplace_back(name, detail::resolved(path).string());
  }
  for (const output_file* file : outputs) {
    if (!file->replaces() && !file->is_standard_output()) continue;
    const std::string target = file->replaces() ? file->target() : file->path();
    for (const auto& [other, other_target] : taken) {
      if (target != other_target) continue;
      throw error(file->option() + " " + detail::printable(file->path()), "this is the same file as " + other,
                  "Give another path");
    }
    taken.emplace_back(file->option(), target);
  }
}

}  // namespace whilst::command
