#!/bin/bash
# What Spark on Kubernetes starts in a container: `driver ARGUMENTS` and `executor`, with their settings in the
# environment (Spark's resource-managers/kubernetes). Anything else is run as it is.
set -euo pipefail

case "${1:-}" in
driver)
    shift
    command=("$SPARK_HOME/bin/spark-submit"
        --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS"
        --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS"
        --deploy-mode client "$@")
    ;;
executor)
    shift
    options=()
    while IFS= read -r name; do
        options+=("${!name}")
    done < <(compgen -v SPARK_JAVA_OPT_ | sort -t_ -k4 -n)
    command=("${JAVA_HOME:+$JAVA_HOME/bin/}java" ${options[@]+"${options[@]}"}
        "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY"
        -cp "${SPARK_CONF_DIR:+$SPARK_CONF_DIR:}${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$SPARK_HOME/jars/*"
        org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend
        --driver-url "$SPARK_DRIVER_URL"
        --executor-id "$SPARK_EXECUTOR_ID"
        --cores "$SPARK_EXECUTOR_CORES"
        --app-id "$SPARK_APPLICATION_ID"
        --hostname "$SPARK_EXECUTOR_POD_IP"
        --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID"
        --podName "$SPARK_EXECUTOR_POD_NAME" "$@")
    ;;
*)
    command=("$@")
    ;;
esac
exec tini -s -- "${command[@]}"
