#include "whilst/host/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers/c/reports.hpp"

namespace whilst::c {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Calls `use` with the report behind a handle; gives `failed` where there is none.
template <class Result, class Use>
Result of_report(const char* function, const whilst_report* report, Result failed, const Use& use) {
  Result result = failed;
  const whilst_status status = guarded(function, [&] { result = use(*content_of<report_content>(report, "report")); });
  return status == WHILST_OK ? result : failed;
}

/// Writes what `entry` gives for 0, 1, ... below capacity; null arrays are left out by `entry`.
template <class Entry>
std::int64_t write_up_to(std::int64_t capacity, std::size_t size, const Entry& entry) {
  const auto count = static_cast<std::int64_t>(size);
  for (std::int64_t k = 0; k < std::min(capacity, count); ++k) entry(static_cast<std::size_t>(k));
  return count;
}

double number_of(const report_content& report, whilst_report_number_kind what) {
  switch (what) {
    case WHILST_RESIDUAL_NORM:
      return report.fields.residual_norm;
    case WHILST_RELATIVE_RESIDUAL:
      return report.relative_residual;
    case WHILST_RHS_NORM:
      return report.fields.rhs_norm;
    case WHILST_SETUP_SECONDS:
      return report.fields.setup_seconds;
    case WHILST_SOLVE_SECONDS:
      return report.fields.solve_seconds;
    case WHILST_LOOP_SECONDS:
      return report.fields.loop_seconds;
    case WHILST_VALUE:
      return report.value;
    case WHILST_EVALUATIONS:
      return report.evaluations;
  }
  refuse("there is no number " + std::to_string(static_cast<int>(what)), "Use those of whilst_report_number_kind");
}

const std::string& text_of_report(const report_content& report, whilst_report_text_kind what) {
  switch (what) {
    case WHILST_MESSAGE:
      return report.message;
    case WHILST_METHOD:
      return report.fields.method;
    case WHILST_PRECONDITIONER:
      return report.fields.preconditioner;
    case WHILST_EXECUTOR:
      return report.fields.executor;
    case WHILST_DEVICE_NAME:
      return report.fields.device;
    case WHILST_NOTE:
      return report.fields.note;
    case WHILST_CHOICE:
      return report.fields.choice;
    case WHILST_PRECONDITIONER_MADE:
      return report.fields.preconditioner_choice;
  }
  refuse("there is no text " + std::to_string(static_cast<int>(what)), "Use those of whilst_report_text_kind");
}

}  // namespace

report_content report_content_of(const report& report) {
  report_content flat;
  flat.fields = report.fields();
  flat.message = report.message();
  flat.converged = report.converged();
  flat.relative_residual = report.relative_residual();
  flat.value = flat.evaluations = no_number;
  return flat;
}

report_content report_content_of(const minimize_report& report) {
  report_content flat = report_content_of(static_cast<const whilst::report&>(report));
  flat.message = report.message();
  flat.value = report.value;
  flat.evaluations = static_cast<double>(report.evaluations);
  return flat;
}

report_content report_content_of(const nonlinear_report& report) {
  report_content flat = report_content_of(static_cast<const whilst::report&>(report));
  flat.message = report.message();
  flat.evaluations = static_cast<double>(report.evaluations);
  return flat;
}

report_content report_content_of(const eigenvalue_report& report) {
  report_content flat = report_content_of(static_cast<const whilst::report&>(report));
  flat.message = report.message();
  flat.eigenvalues = report.eigenvalues;
  flat.eigenvalue_residuals = report.residual_norms;
  return flat;
}

report_content report_content_of(const columns_report& report) {
  report_content flat;
  const system_outcome& worst = report[report.worst()];
  flat.fields.reason = worst.reason;
  flat.fields.iterations = worst.iterations;
  flat.fields.residual_norm = worst.residual_norm;
  flat.fields.rhs_norm = worst.rhs_norm;
  flat.fields.setup_seconds = report.setup_seconds();
  flat.fields.solve_seconds = report.solve_seconds();
  flat.fields.loop_seconds = no_number;
  flat.fields.method = report.method();
  flat.fields.preconditioner = report.preconditioner();
  flat.fields.preconditioner_choice = report.preconditioner_choice();
  flat.fields.executor = report.executor();
  flat.fields.device = report.device();
  flat.fields.note = report.note();
  flat.message = report.message();
  flat.converged = report.all_converged();
  flat.relative_residual = worst.relative_residual();
  flat.value = flat.evaluations = no_number;
  for (const system_outcome& one : report)
    flat.columns.push_back({static_cast<int>(one.reason), one.iterations, one.relative_residual()});
  return flat;
}

void make_report_handle(whilst_report** handle, report_content report) {
  if (handle) make_handle<report_content>(std::make_shared<report_content>(std::move(report)), handle);
}

}  // namespace whilst::c

extern "C" {

int whilst_report_converged(const whilst_report* report) {
  return whilst::c::of_report(__func__, report, 0, [](const auto& found) { return found.converged ? 1 : 0; });
}

int whilst_report_reason(const whilst_report* report) {
  return whilst::c::of_report(__func__, report, 0,
                              [](const auto& found) { return static_cast<int>(found.fields.reason); });
}

const char* whilst_report_reason_name(const whilst_report* report) {
  const char* const none = nullptr;
  return whilst::c::of_report(__func__, report, none,
                              [](const auto& found) { return whilst::name(found.fields.reason).data(); });
}

int64_t whilst_report_iterations(const whilst_report* report) {
  return whilst::c::of_report(__func__, report, int64_t{-1},
                              [](const auto& found) { return int64_t{found.fields.iterations}; });
}

double whilst_report_number(const whilst_report* report, whilst_report_number_kind what) {
  using namespace whilst::c;
  return of_report(__func__, report, no_number, [&](const auto& found) { return number_of(found, what); });
}

const char* whilst_report_text(const whilst_report* report, whilst_report_text_kind what) {
  using namespace whilst::c;
  const char* const none = nullptr;
  return of_report(__func__, report, none, [&](const auto& found) { return text_of_report(found, what).c_str(); });
}

int64_t whilst_report_history(const whilst_report* report, int64_t capacity, int64_t* iterations,
                              double* residual_norms) {
  using namespace whilst::c;
  return of_report(__func__, report, int64_t{-1}, [&](const auto& found) {
    const auto& history = found.fields.history;
    return write_up_to(capacity, history.size(), [&](std::size_t k) {
      if (iterations) iterations[k] = history[k].iteration;
      if (residual_norms) residual_norms[k] = history[k].residual_norm;
    });
  });
}

int64_t whilst_report_eigenvalues(const whilst_report* report, int64_t capacity, double* eigenvalues,
                                  double* residual_norms) {
  using namespace whilst::c;
  return of_report(__func__, report, int64_t{-1}, [&](const auto& found) {
    return write_up_to(capacity, found.eigenvalues.size(), [&](std::size_t k) {
      if (eigenvalues) eigenvalues[k] = found.eigenvalues[k];
      if (residual_norms) residual_norms[k] = found.eigenvalue_residuals[k];
    });
  });
}

int64_t whilst_report_columns(const whilst_report* report, int64_t capacity, int* reasons, int64_t* iterations,
                              double* relative_residuals) {
  using namespace whilst::c;
  return of_report(__func__, report, int64_t{-1}, [&](const auto& found) {
    return write_up_to(capacity, found.columns.size(), [&](std::size_t k) {
      if (reasons) reasons[k] = found.columns[k].reason;
      if (iterations) iterations[k] = found.columns[k].iterations;
      if (relative_residuals) relative_residuals[k] = found.columns[k].relative_residual;
    });
  });
}

whilst_status whilst_report_destroy(whilst_report** report) {
  return whilst::c::destroy<const whilst::c::report_content>(__func__, report, "report");
}
}
