#include "apps/systole/manual/environment.h"

#include <vector>

#include "systole/base/help_text.h"

namespace systole::app {
namespace {

constexpr EnvironmentVariable kVariables[] = {
    {"SYSTOLE_LOG", "Lowest level of the log: debug, info (default), warning, error, off"},
    {"NO_COLOR", "Without colours, if it is not empty"},
    {"TERM", "Without colours, if it is dumb"},
    {"SYSTOLE_CACHE_DIR",
     "Folder of compiled code; default $XDG_CACHE_HOME/systole or ~/.cache/systole; empty: none"},
    {"SYSTOLE_CACHE_MB", "Its size, beyond which the least recently used code goes; default 1024"},
    {"XDG_CACHE_HOME", "Folder of caches"},
    {"XDG_STATE_HOME", "Folder where a worker notes how it ended"},
    {"HOME", "Folder of caches, states and credentials without their own variables"},
    {"TMPDIR", "Folder of estimators without model_dir; default /tmp"},
    {"KERAS_HOME", "Folder of data sets; default ~/.keras"},
    {"TF_CONFIG",
     "JSON: model_dir, session_master and eval_session_master of a RunConfig; the cluster of "
     "TFConfigClusterResolver"},
    {"SYSTOLE_DUMP", "Folder to write a program to after every pass that changed it"},
    {"SYSTOLE_DISABLE_PASSES", "Passes to leave out, with commas between"},
    {"SYSTOLE_PROFILE", "Folder for a profile of the start of training"},
    {"SYSTOLE_PROFILE_SECONDS", "Its length"},
    // The TPU.
    {"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "The TPU: grpc://ip:port,grpc://ip:port"},
    {"TPU_NAME", "The TPU: local, local:v3-8, grpc://host:port, the name of a cloud TPU"},
    {"TPU_CONFIG", "The TPU: JSON with tpu_node_name, project and zone"},
    {"COLAB_TPU_ADDR", "The TPU: ip:port"},
    {"TPU_API_DISCOVERY_URL", "Discovery document of the Cloud TPU API"},
    // Workers.
    {"SYSTOLE_WORKER_TOKEN", "Token of the worker"},
    {"SYSTOLE_WORKER_TOKEN_FILE", "File whose first line is it"},
    {"SYSTOLE_WORKER_CA", "PEM file of the authority of the worker's certificate; turns TLS on"},
    {"SYSTOLE_WORKER_CERTIFICATE", "PEM file of the client's own certificate"},
    {"SYSTOLE_WORKER_KEY", "PEM file of its key"},
    // Plugins.
    {"SYSTOLE_PJRT_PLUGIN", "Default PJRT plugin of pjrt: targets"},
    {"TPU_LIBRARY_PATH", "libtpu.so"},
    {"PJRT_NAMES_AND_LIBRARY_PATHS", "More PJRT plugins: name:path,name:path"},
    {"SYSTOLE_CORES", "Number of devices of Systole's own plugin"},
    {"SYSTOLE_TPU", "v2-8, v3-8: that plugin's devices are the cores of that Cloud TPU"},
    {"SYSTOLE_PJRT_OPTIONS", "Options of Systole's own plugin: backend=cpu,cores=8"},
    // Several processes.
    {"SYSTOLE_MPI",
     "0: each process trains alone; 1: a process without a launcher is a job of one"},
    {"SYSTOLE_MPI_TIMEOUT_SECS", "How long a step waits for other processes; default 20"},
    {"SYSTOLE_MPI_LIBRARY", "libsystole_mpi.so, if it is not in lib/ beside the program's folder"},
    {"OMPI_COMM_WORLD_SIZE", "Number of processes, of Open MPI's mpirun"},
    {"OMPI_COMM_WORLD_RANK", "This one's, of Open MPI's mpirun"},
    {"PMI_SIZE", "Number of processes, of MPICH and srun"},
    {"PMIX_RANK", "Set by srun with PMIx"},
    {"SLURM_STEP_NUM_TASKS", "Number of processes, of srun"},
    {"SLURM_STEP_NODELIST", "Hosts of SlurmClusterResolver"},
    {"SLURM_JOB_NODELIST", "The same, without a step"},
    {"SLURM_PROCID", "Rank of SlurmClusterResolver"},
    {"SLURM_NTASKS", "Number of its tasks"},
    {"SLURM_STEP_TASKS_PER_NODE", "Their number on each host"},
    {"SLURM_TASKS_PER_NODE", "The same, without a step"},
    {"KUBERNETES_SERVICE_HOST", "API server of KubernetesClusterResolver"},
    {"KUBERNETES_SERVICE_PORT", "Its port"},
    // Buckets.
    {"SYSTOLE_BUCKET_CACHE_MB", "Memory for blocks that are read ahead; default 256"},
    {"SYSTOLE_BUCKET_FLUSH_SECONDS", "How often a growing file is sent; default 30"},
    {"SYSTOLE_BUCKET_LOCK_SECONDS", "How long a lock that nobody renews holds; default 60"},
    {"GOOGLE_APPLICATION_CREDENTIALS", "gs://: file of credentials"},
    {"CLOUDSDK_CONFIG", "gs://: folder of gcloud's configuration"},
    {"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", "gs://: another endpoint"},
    {"STORAGE_EMULATOR_HOST", "gs://: an emulator"},
    {"GCE_METADATA_HOST", "Google's metadata server"},
    {"GCE_METADATA_IP", "The same"},
    {"SYSTOLE_S3_PATH_STYLE", "s3://: 1 or 0: whether the bucket is in the path of URLs"},
    {"AWS_ACCESS_KEY_ID", "s3://: credentials"},
    {"AWS_SECRET_ACCESS_KEY", "s3://: credentials"},
    {"AWS_SESSION_TOKEN", "s3://: credentials"},
    {"AWS_PROFILE", "s3://: profile of the files of credentials"},
    {"AWS_SHARED_CREDENTIALS_FILE", "s3://: file of credentials; default ~/.aws/credentials"},
    {"AWS_CONFIG_FILE", "s3://: default ~/.aws/config"},
    {"AWS_REGION", "s3://: region; default us-east-1"},
    {"AWS_DEFAULT_REGION", "s3://: the same"},
    {"S3_REGION", "s3://: the same"},
    {"AWS_ENDPOINT_URL_S3", "s3://: another endpoint"},
    {"AWS_ENDPOINT_URL", "s3://: the same"},
    {"S3_ENDPOINT", "s3://: the same"},
    {"S3_USE_HTTPS", "s3://: 0 for http, with S3_ENDPOINT"},
    {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "s3://: true ignores these"},
    {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "s3://: the container's service of credentials"},
    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "s3://: the same"},
    {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "s3://: its token"},
    {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "s3://: file of its token"},
    {"AWS_EC2_METADATA_SERVICE_ENDPOINT", "s3://: the instance's metadata service"},
    {"AWS_EC2_METADATA_DISABLED", "s3://: true does without it"},
    {"CURL_CA_BUNDLE", "PEM file of the authorities of https servers"},
    {"NO_PROXY", "Hosts to reach without a proxy"},
    {"no_proxy", "The same"}};

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

std::string environment_help() {
  std::vector<HelpRow> rows;
  for (const EnvironmentVariable& variable : kVariables) {
    rows.push_back({variable.name, variable.meaning});
  }
  return help_rows("Variables of the environment:\n", rows, terminal_width()).substr(1);
}

}  // namespace systole::app
