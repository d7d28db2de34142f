// What this program has in common with whilst: output files, JSON, and how durations are written.
#include "apps/whilst/output_file.cpp"
#include "apps/whilst/report_json.cpp"
#include "apps/whilst/text.cpp"
